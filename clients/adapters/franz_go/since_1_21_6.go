//go:build since_1_21_6

package main

func init() {
	isAbortedOnceUnconfirmed = true
}
