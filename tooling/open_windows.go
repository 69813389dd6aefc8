package tooling

// nonBlocking is nothing here: named pipes do not stand in folders.
const nonBlocking = 0
