package builtin

import (
	"io/fs"
	"os"
)

// nonBlocking is nothing here: named pipes do not stand in folders.
const nonBlocking = 0

// keepOwner does nothing here: a new file inherits its rights from the folder.
func keepOwner(*os.File, fs.FileInfo) {}
