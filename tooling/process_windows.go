package tooling

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree is a running child and what it started: all that is in its job. The job ends its
// processes when its last handle is closed, so also when nimlet is killed.
type tree struct {
	leader  uint32
	job     windows.Handle
	process windows.Handle
	ended   chan struct{} // closed when the leader has ended
}

// startTree starts cmd stopped, puts it into a job, and lets it run: so it can start nothing
// outside of the job.
func startTree(cmd *exec.Cmd, _ string) (*tree, error) {
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("making a job: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(job))
	}
	t := &tree{leader: uint32(cmd.Process.Pid), job: job, ended: make(chan struct{})}
	if err := t.join(); err != nil {
		err = errors.Join(err, cmd.Process.Kill(), windows.CloseHandle(job))
		_ = cmd.Wait() // its status says that it was killed
		return nil, err
	}
	go func() {
		_, _ = windows.WaitForSingleObject(t.process, windows.INFINITE)
		close(t.ended)
	}()
	return t, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	return job, nil
}

// join puts the stopped leader into the job and lets it run.
func (t *tree) join() (err error) {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.SYNCHRONIZE
	if t.process, err = windows.OpenProcess(access, false, t.leader); err != nil {
		return err
	}
	err = windows.AssignProcessToJobObject(t.job, t.process)
	if err == nil {
		err = resume(t.leader)
	}
	if err != nil {
		return errors.Join(err, windows.CloseHandle(t.process))
	}
	return nil
}

// resume starts the one thread that a stopped process has.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return fmt.Errorf("finding the thread of process %d: %w", pid, err)
}

// end ends all of the job at once: Windows has no signal that every program understands. left
// names its members besides the leader.
func (t *tree) end(time.Duration) (left []string, err error) {
	var handles []windows.Handle
	for _, pid := range t.members() {
		h, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
		if err != nil {
			continue // it has ended
		}
		handles = append(handles, h)
		if pid != t.leader {
			left = append(left, processName(h))
		}
	}
	err = windows.TerminateJobObject(t.job, 1)
	const limit = 3000 // ms, for one that hangs in the kernel
	for _, h := range handles {
		_, _ = windows.WaitForSingleObject(h, limit)
		_ = windows.CloseHandle(h)
	}
	return left, err
}

// release gives the handles back, which ends what may still be in the job.
func (t *tree) release() {
	_ = windows.CloseHandle(t.job)
	if isClosed(t.ended) { // else it is being waited for
		_ = windows.CloseHandle(t.process)
	}
}

// members returns the ids of the processes in the job.
func (t *tree) members() []uint32 {
	const most = 1024
	var list struct {
		assigned, listed uint32
		ids              [most]uintptr
	}
	const jobObjectBasicProcessIDList = 3
	err := windows.QueryInformationJobObject(t.job, jobObjectBasicProcessIDList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	var pids []uint32
	for _, id := range list.ids[:min(list.listed, most)] {
		pids = append(pids, uint32(id))
	}
	return pids
}

func processName(h windows.Handle) string {
	buffer := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(buffer))
	if err := windows.QueryFullProcessImageName(h, 0, &buffer[0], &size); err != nil {
		return "a process"
	}
	return filepath.Base(windows.UTF16ToString(buffer[:size]))
}

// exitSignal returns "": Windows has no signals.
func exitSignal(*os.ProcessState) string { return "" }
