//go:build unix

package config

import "syscall"

const openFlags = syscall.O_NONBLOCK
