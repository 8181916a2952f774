package verifiable

import (
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1

// monoNs reads CLOCK_MONOTONIC itself, because Go exposes its own reading only as differences.
func monoNs() int64 {
	var now syscall.Timespec
	_, _, failed := syscall.RawSyscall(
		syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	if failed != 0 {
		panic(failed)
	}
	return now.Nano()
}

func wallNs() int64 { return time.Now().UnixNano() }
