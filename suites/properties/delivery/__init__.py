"""Suite *delivery*: what each guarantee promises, under generated fault schedules."""
