//go:build !unix

package config

const openFlags = 0 // no file of these systems makes an open wait
