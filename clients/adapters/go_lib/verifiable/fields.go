package verifiable

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// SetField sets a field of a struct from text. The path has the names of fields, with dots between. Fields that are
// numbers, durations (such as 50ms), booleans and texts can be set.
func SetField(of any, path, text string) error {
	field := reflect.ValueOf(of).Elem()
	for _, name := range strings.Split(path, ".") {
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		if field.Kind() != reflect.Struct {
			return fmt.Errorf("the client has no field %s", path)
		}
		if field = field.FieldByName(name); !field.IsValid() || !field.CanSet() {
			return fmt.Errorf("the client has no field %s", path)
		}
	}
	return setText(field, text)
}

func setText(field reflect.Value, text string) error {
	var err error
	switch {
	case field.Type() == reflect.TypeOf(time.Duration(0)):
		var duration time.Duration
		if duration, err = time.ParseDuration(text); err == nil {
			field.SetInt(int64(duration))
		}
	case field.CanInt():
		var number int64
		if number, err = strconv.ParseInt(text, 10, field.Type().Bits()); err == nil {
			field.SetInt(number)
		}
	case field.CanUint():
		var number uint64
		if number, err = strconv.ParseUint(text, 10, field.Type().Bits()); err == nil {
			field.SetUint(number)
		}
	case field.Kind() == reflect.Bool:
		var truth bool
		if truth, err = strconv.ParseBool(text); err == nil {
			field.SetBool(truth)
		}
	case field.Kind() == reflect.String:
		field.SetString(text)
	default:
		return fmt.Errorf("its type %s cannot be given as text", field.Type())
	}
	if err != nil {
		return fmt.Errorf("%q is not a value of type %s", text, field.Type())
	}
	return nil
}
