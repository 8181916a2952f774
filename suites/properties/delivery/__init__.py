"""Suite *delivery*: the promises of each guarantee, under generated fault schedules."""
