/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* The path of a run (crates/tussle-driver), and the requests of the agent (crates/tussle-datapath/src/requests.rs). */
#ifndef TUSSLE_H
#define TUSSLE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TUSSLE_INTERFACE 2

struct tussle_device_request {
	__u32 exit;
	__u32 mtu_bytes;
	/* 0: packets leave the device at once. */
	__u64 rate_bit_per_s;
};

#define TUSSLE_GET_INTERFACE _IOR('u', 0, __u32)
#define TUSSLE_ADD_DEVICE _IOW('u', 1, struct tussle_device_request)
#define TUSSLE_START _IOW('u', 2, __u64)

/* A packet that reaches a host, and what is changed in it. */
struct tussle_delivery {
	struct sk_buff *skb;
	__u32 exit;
	__u32 changes;
	/* The next two packets of its flow, which probably reach the host next; NULL for none. */
	const struct sk_buff *following[2];
};

#define TUSSLE_MARK 1
#define TUSSLE_DAMAGE 2
#define TUSSLE_COPY 4

#define TUSSLE_NEVER (~0ULL)

struct tussle_path;

struct tussle_path *tussle_path_new(const __u8 *run, unsigned long bytes);
void tussle_path_enter(struct tussle_path *path, struct sk_buff *skb, const __u8 *header, __u32 header_bytes,
		       __u32 size_bytes, __u64 now_ns);
void tussle_path_release(struct tussle_path *path, __u64 now_ns);
bool tussle_path_release_one(struct tussle_path *path, __u64 now_ns);
__u64 tussle_path_next(const struct tussle_path *path);
bool tussle_path_take(struct tussle_path *path, struct tussle_delivery *delivery);
bool tussle_path_take_dropped(struct tussle_path *path, struct sk_buff **skb);
bool tussle_path_answer(struct tussle_path *path, __u32 number, void *request);

/* What the guest calls before it sleeps (kernel/patches/idle.toml). */
bool tussle_work_while_idle(bool (*skip)(unsigned long long ns));

#endif
