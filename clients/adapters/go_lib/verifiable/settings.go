package verifiable

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Config is the requested configuration: Java's names, and values.
type Config map[string]Value

// Value is one setting as text, whatever its JSON type was.
type Value string

// UnmarshalJSON takes text unchanged, and a number or a boolean as its JSON text.
func (v *Value) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		*v = Value(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(v))
}

// Int parses an integer.
func (v Value) Int() (int, error) {
	number, err := strconv.Atoi(string(v))
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", string(v))
	}
	return number, nil
}

// Bool parses a boolean.
func (v Value) Bool() (bool, error) {
	if v != "true" && v != "false" {
		return false, fmt.Errorf("%q is neither true nor false", string(v))
	}
	return v == "true", nil
}

// Duration parses a number of milliseconds.
func (v Value) Duration() (time.Duration, error) {
	ms, err := v.Int()
	if err == nil && (ms < 0 || ms > 1<<40) {
		err = fmt.Errorf("%d is not a time in milliseconds", ms)
	}
	return time.Duration(ms) * time.Millisecond, err
}

// List splits text at commas.
func (v Value) List() []string { return strings.Split(string(v), ",") }

// Told reports every setting: Applied has the client's own name and value for it, NotSet the reason if it is not set.
// ClientNotSet has the reason for a setting under one of the client's own names.
type Told struct {
	Applied      map[string][2]any
	NotSet       map[string]string
	ClientNotSet map[string]string
}

// takenByHarness is why a setting under one of the client's own names is not applied.
const takenByHarness = "the harness sets it"

// IsApplied returns whether a setting in the Java names has set the client's own setting.
func (t Told) IsApplied(own string) bool {
	for _, applied := range t.Applied {
		for _, name := range strings.Split(fmt.Sprint(applied[0]), ", ") {
			if name == own {
				return true
			}
		}
	}
	return false
}

// Own gives settings under the client's own names to set, unless a setting in the Java names has set them, and returns
// the reported settings with the reason for each that is not applied.
func (t Told) Own(own map[string]string, set func(name, value string) error) Told {
	t.ClientNotSet = map[string]string{}
	for name, value := range own {
		if t.IsApplied(name) {
			t.ClientNotSet[name] = takenByHarness
		} else if err := set(name, value); err != nil {
			t.ClientNotSet[name] = err.Error()
		}
	}
	return t
}

// NotAsAsked withdraws an applied setting: the client has another value than requested, or another meaning.
func (t Told) NotAsAsked(name, why string) {
	delete(t.Applied, name)
	t.NotSet[name] = why
}

// Setter passes one setting to the client. It returns the client's name and value, or why the client lacks it.
type Setter func(value Value) (own string, given any, err error)

// Translate passes every setting to its setter, in the order of their names.
func (c Config) Translate(setters map[string]Setter) Told {
	told := Told{Applied: map[string][2]any{}, NotSet: map[string]string{}}
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		set, known := setters[name]
		if !known {
			told.NotSet[name] = "the client has no such setting"
			continue
		}
		own, given, err := set(c[name])
		if err != nil {
			told.NotSet[name] = err.Error()
			continue
		}
		told.Applied[name] = [2]any{own, given}
	}
	return told
}

// Absent is a setting that the client does not have, with the reason.
func Absent(why string) Setter {
	return func(Value) (string, any, error) { return "", nil, fmt.Errorf("%s", why) }
}

// Fixed is a setting for which the client has a fixed value. Only a request for that value succeeds.
func Fixed(always int) Setter {
	return func(value Value) (string, any, error) {
		asked, err := value.Int()
		if err == nil && asked != always {
			err = fmt.Errorf("it is always %d", always)
		}
		return "always", always, err
	}
}

// Text is a setting that is passed on unchanged.
func Text(own string, set func(string)) Setter {
	return func(value Value) (string, any, error) {
		set(string(value))
		return own, string(value), nil
	}
}

// List is a setting with several texts.
func List(own string, set func([]string)) Setter {
	return func(value Value) (string, any, error) {
		set(value.List())
		return own, string(value), nil
	}
}

// Int is an integer setting.
func Int(own string, set func(int)) Setter {
	return func(value Value) (string, any, error) {
		number, err := value.Int()
		if err == nil {
			set(number)
		}
		return own, number, err
	}
}

// Bool is a boolean setting.
func Bool(own string, set func(bool)) Setter {
	return func(value Value) (string, any, error) {
		truth, err := value.Bool()
		if err == nil {
			set(truth)
		}
		return own, truth, err
	}
}

// Duration is a setting in milliseconds.
func Duration(own string, set func(time.Duration)) Setter {
	return func(value Value) (string, any, error) {
		duration, err := value.Duration()
		if err == nil {
			set(duration)
		}
		return own, duration.String(), err
	}
}

// OneOf is a setting with a few values, each with its own name in the client.
func OneOf[T any](own string, known map[string]T, set func(T)) Setter {
	return func(value Value) (string, any, error) {
		choice, ok := known[string(value)]
		if !ok {
			return "", nil, fmt.Errorf("the client does not support %q", string(value))
		}
		set(choice)
		return own, string(value), nil
	}
}

// Into returns a function that stores a setting in a field of the client's configuration.
func Into[T any](field *T) func(T) {
	return func(value T) { *field = value }
}

// Assignor returns the short name of one of Java's assignors, by its class or short name: "range", for example. It
// returns other names unchanged.
func Assignor(name string) string {
	name = strings.TrimSpace(name)
	short, known := map[string]string{
		"RangeAssignor":             "range",
		"RoundRobinAssignor":        "roundrobin",
		"StickyAssignor":            "sticky",
		"CooperativeStickyAssignor": "cooperative-sticky",
	}[name[strings.LastIndex(name, ".")+1:]]
	if known {
		return short
	}
	return name
}
