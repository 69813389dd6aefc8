package builtin

import (
	"cmp"
	"container/heap"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// A walk goes through the files below a folder, several folders at once, and leaves out what git
// would: .git and what is ignored. Links to folders are not followed.
//
// Folders are taken up in the order of their paths, so that a search that wants the first n
// matches can end the walk when it has them: nothing after the n-th can matter any more.
type walk struct {
	base Place
	size int // files of one batch; 0: a folder at a time

	// visit is called with files of one folder, by name, from several goroutines at once.
	visit func(worker int, b batch)
	// beyond reports that nothing at or after path, a slash path below base, is wanted; nil: all is.
	beyond func(path string) bool

	mu     sync.Mutex
	more   *sync.Cond // there is a job, or no worker has one
	jobs   jobHeap    // guarded by mu
	active int        // workers at a job; guarded by mu
	over   bool       // ctx ended; guarded by mu
}

// A batch is files that stand in one folder.
type batch struct {
	dir   *os.Root
	path  string // of the folder, a slash path below base: "" or "a/b/"
	files []fs.DirEntry
}

// A job is a folder to list, or files of it to visit.
type job struct {
	key     string // what is done in order: the path of the folder or of the first file
	path    string // as in batch
	files   []fs.DirEntry
	ignored *ignores // the rules around the folder
}

type jobHeap []job

func (h jobHeap) Len() int           { return len(h) }
func (h jobHeap) Less(i, j int) bool { return h[i].key < h[j].key }
func (h jobHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *jobHeap) Push(x any)        { *h = append(*h, x.(job)) }
func (h *jobHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = job{}
	*h = (*h)[:len(*h)-1]
	return last
}

// walkers is how many goroutines a walk uses: two on one processor, since half of reading is
// waiting, and no more than help.
func walkers() int { return min(max(2, runtime.GOMAXPROCS(0)), 12) }

// run walks until all is visited, beyond stops it, or ctx ends. A folder that cannot be read is
// passed over, as it would be by any search. It returns when its goroutines have ended.
func (w *walk) run(ctx context.Context) error {
	w.more = sync.NewCond(&w.mu)
	w.jobs = jobHeap{{ignored: ignoresAround(w.base.Path)}}
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
		w.more.Broadcast()
	})
	defer stop()
	var wg sync.WaitGroup
	for i := range walkers() {
		wg.Go(func() {
			for j, ok := w.next(); ok; j, ok = w.next() {
				w.do(i, j)
				w.done()
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// next waits for a job; ok is false when there will be none.
func (w *walk) next() (j job, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		switch {
		case w.over:
			return job{}, false
		case len(w.jobs) > 0:
			j := heap.Pop(&w.jobs).(job)
			if w.beyond != nil && w.beyond(j.key) {
				continue
			}
			w.active++
			return j, true
		case w.active == 0:
			return job{}, false
		}
		w.more.Wait()
	}
}

func (w *walk) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active--
	if w.active == 0 && len(w.jobs) == 0 {
		w.more.Broadcast()
	}
}

func (w *walk) push(jobs []job) {
	if len(jobs) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range jobs {
		heap.Push(&w.jobs, j)
	}
	w.more.Broadcast()
}

// do lists the folder of j, or visits its files.
func (w *walk) do(worker int, j job) {
	dir, err := w.base.in.root.OpenRoot(filepath.Join(w.base.rel, filepath.FromSlash(j.path)))
	if err != nil {
		return
	}
	defer dir.Close()
	files := j.files
	if files == nil {
		var jobs []job
		files, jobs = w.list(dir, j)
		w.push(jobs)
	}
	if len(files) > 0 {
		w.visit(worker, batch{dir: dir, path: j.path, files: files})
	}
}

// list returns the first batch of files of the folder of j and, as jobs, all else there is to do.
func (w *walk) list(dir *os.Root, j job) (first []fs.DirEntry, jobs []job) {
	entries := entriesOf(dir)
	at := slashed(w.base.Path) + j.path
	ignored := w.rules(dir, at, entries, j)
	var files []fs.DirEntry
	for _, e := range entries {
		name := e.Name()
		if name == ".git" || ignored.match(at, name, e.IsDir()) {
			continue
		}
		if !e.IsDir() {
			files = append(files, e)
			continue
		}
		path := j.path + name + "/"
		jobs = append(jobs, job{key: path, path: path, ignored: ignored})
	}
	slices.SortFunc(files, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for w.size > 0 && len(files) > w.size {
		cut := max(len(files)-w.size, w.size)
		jobs = append(jobs, job{key: j.path + files[cut].Name(), path: j.path, files: files[cut:]})
		files = files[:cut]
	}
	return files, jobs
}

// rules returns those that hold inside the folder at, whose entries are known.
func (w *walk) rules(dir *os.Root, at string, entries []fs.DirEntry, j job) *ignores {
	ignored, own := j.ignored, false
	for _, e := range entries {
		switch e.Name() {
		case ".git":
			if j.path != "" { // a repository in the repository has rules of its own
				ignored = ignoresAround(filepath.FromSlash(at[:len(at)-1]))
			}
		case ".gitignore":
			own = e.Type().IsRegular()
		}
	}
	if own {
		p := Place{in: &folder{root: dir}, rel: ".gitignore"}
		if data, _, err := p.read(maxIgnoreFile); err == nil {
			ignored = ignored.with(at, string(data))
		}
	}
	return ignored
}

// entriesOf lists dir as far as it can be read.
func entriesOf(dir *os.Root) []fs.DirEntry {
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // what was read before an error is still good
	return entries
}
