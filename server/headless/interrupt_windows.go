package headless

import "golang.org/x/sys/windows"

// noReader is what Windows calls a pipe whose reading end is closed.
const noReader = windows.ERROR_NO_DATA
