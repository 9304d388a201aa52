/* A host with AMX, for a dynamically linked guest kernel: NT_X86_XSTATE has 11 008 bytes, and PTRACE_SETREGSET answers a
 * smaller size with EFAULT, as Linux does on such a host. Bytes that this host does not have are zero. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define STATE_BYTES 11008

typedef long (*ptrace_call)(enum __ptrace_request, pid_t, void *, void *);

static long get_state(ptrace_call host, pid_t process, struct iovec *wanted)
{
	char state[STATE_BYTES] = { 0 };
	struct iovec whole = { state, sizeof(state) };
	long status = host(PTRACE_GETREGSET, process, (void *)NT_X86_XSTATE, &whole);

	if (status)
		return status;
	if (wanted->iov_len > sizeof(state))
		wanted->iov_len = sizeof(state);
	memcpy(wanted->iov_base, state, wanted->iov_len);
	return 0;
}

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_call host;
	va_list arguments;

	va_start(arguments, request);
	pid_t process = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	if (!host)
		host = (ptrace_call)dlsym(RTLD_NEXT, "ptrace");
	if (address == (void *)NT_X86_XSTATE && request == PTRACE_GETREGSET)
		return get_state(host, process, data);
	if (address == (void *)NT_X86_XSTATE && request == PTRACE_SETREGSET &&
	    ((struct iovec *)data)->iov_len < STATE_BYTES) {
		errno = EFAULT;
		return -1;
	}
	return host(request, process, address, data);
}
