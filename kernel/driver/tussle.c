// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * Devices whose packets cross the simulator's elements.
 *
 * The agent opens /dev/tussle, writes the run to it, and makes a device in the namespace of each host. A packet that a
 * device sends enters the path of its flow (crates/tussle-driver) at the current time of the run. A timer expires when
 * the next packet leaves an element; packets that have crossed all of their elements are received by the device of
 * their host. If the guest has nothing else to do until then, it skips the timer.
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/prefetch.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include "tussle.h"

/* End of this tick, from a header of the kernel's own (kernel/time/tick-internal.h). */
extern ktime_t tick_next_period;

/* Size of the headers that the path reads. */
#define HEADER_BYTES (sizeof(struct iphdr) + sizeof(struct tcphdr))
#define MAX_HOSTS 65536
#define MAX_RUN_BYTES (64 << 20)
#define LARGEST_REQUEST 256
#define NS_BITS (8 * NSEC_PER_SEC)

/*
 * A timer that expires alone, and then runs its work as a software interrupt. When a timer of the kernel's soft kind expires,
 * all others of that kind that may wait longer expire, too; but no host's timers may depend on the packets of other hosts.
 */
struct exact_timer {
	struct hrtimer timer;
	struct tasklet_struct work;
};

/*
 * A host's device. With a rate, it transmits one packet at a time; the packet counts as its sender's until its last bit has
 * left.
 */
struct host {
	struct net_device *device;
	u64 rate_bit_per_s;
	/* Rounding error so far, in units of 1/rate ns. */
	u64 remainder;
	struct sk_buff *transmitting;
	struct exact_timer end;
	struct napi_struct napi;
	/* Packets that have arrived and are received at the end of this instant, which merges those of one flow. */
	struct sk_buff_head arrived;
};

/* Guards the path and the time of the next departure. */
static DEFINE_SPINLOCK(lock);
static struct tussle_path *path;
static struct exact_timer next_departure;
/* Time of the run for which it is set. */
static u64 due_ns = TUSSLE_NEVER;
/* Whether packets of this instant are being delivered. */
static bool is_releasing;
/* Whether departures are handled without their timer, which is set afterwards. */
static bool is_skipping;
/* Reading of CLOCK_MONOTONIC at which the run starts. */
static u64 zero_ns;
/* Devices by the host that they belong to. */
static struct net_device **devices;

static u64 run_ns(void)
{
	u64 now = ktime_get_ns();

	return now > zero_ns ? now - zero_ns : 0;
}

static enum hrtimer_restart expire(struct hrtimer *timer)
{
	tasklet_hi_schedule(&container_of(timer, struct exact_timer, timer)->work);
	return HRTIMER_NORESTART;
}

static void set_up(struct exact_timer *exact, void (*work)(struct tasklet_struct *))
{
	tasklet_setup(&exact->work, work);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&exact->timer, expire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&exact->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	exact->timer.function = expire;
#endif
}

static void set(struct exact_timer *exact, u64 monotonic_ns)
{
	hrtimer_start(&exact->timer, ns_to_ktime(monotonic_ns), HRTIMER_MODE_ABS_HARD);
}

static void set_departure_timer(void)
{
	if (due_ns == TUSSLE_NEVER)
		hrtimer_try_to_cancel(&next_departure.timer);
	else
		set(&next_departure, zero_ns + due_ns);
}

/* Waits for the next packet that leaves an element. */
static void await_departure(void)
{
	u64 next = tussle_path_next(path);

	if (next == due_ns)
		return;
	due_ns = next;
	if (!is_skipping)
		set_departure_timer();
}

/*
 * Sets the data offset to 0, which is shorter than any TCP header, so that the receiver drops the segment before it counts it.
 */
static void damage(struct sk_buff *skb)
{
	unsigned int offset = ip_hdr(skb)->ihl * 4;

	if (skb_ensure_writable(skb, offset + sizeof(struct tcphdr)) == 0)
		((struct tcphdr *)(skb->data + offset))->doff = 0;
}

/* The packet as its host receives it; NULL without memory. */
static struct sk_buff *delivered(const struct tussle_delivery *delivery)
{
	struct sk_buff *skb = delivery->skb;

	if (delivery->changes & TUSSLE_COPY)
		skb = skb_copy(skb, GFP_ATOMIC);
	if (!skb)
		return NULL;
	if (delivery->changes & TUSSLE_MARK && skb_ensure_writable(skb, sizeof(struct iphdr)) == 0)
		IP_ECN_set_ce(ip_hdr(skb));
	if (delivery->changes & TUSSLE_DAMAGE)
		damage(skb);
	skb->dev = devices[delivery->exit];
	return skb;
}

/*
 * Begins to load the packets that follow, which have left the processor's caches on a long path: of the second its sk_buff, and of
 * the first, whose sk_buff was loaded the last time, its headers and the description of its payload. Always inlined: the compiler
 * leaves out the call of a function that has no other effect.
 */
static __always_inline void load_following(const struct tussle_delivery *delivery)
{
	const struct sk_buff *first = delivery->following[0];
	const u8 *second = (const u8 *)delivery->following[1];
	size_t offset;

	if (first) {
		prefetch(first->data);
		prefetch(first->data + HEADER_BYTES - 1);
		prefetch(skb_shinfo(first));
		prefetch(skb_shinfo(first)->frags + 1);
	}
	if (second) {
		for (offset = 0; offset < sizeof(struct sk_buff); offset += L1_CACHE_BYTES)
			prefetchw(second + offset);
		prefetchw(second + sizeof(struct sk_buff) - 1);
	}
}

/* Collects the packets that have crossed the path, and frees those that it has dropped. */
static void collect(struct sk_buff_head *arrived)
{
	struct tussle_delivery delivery;
	struct sk_buff *skb;

	while (tussle_path_take(path, &delivery)) {
		load_following(&delivery);
		skb = delivered(&delivery);
		if (skb)
			__skb_queue_tail(arrived, skb);
	}
	while (tussle_path_take_dropped(path, &skb))
		kfree_skb(skb);
}

/* Receives the packets of this instant; the kernel merges consecutive ones of one flow (GRO). */
static int poll(struct napi_struct *napi, int budget)
{
	struct host *host = container_of(napi, struct host, napi);
	struct sk_buff *skb;
	int done = 0;

	while (done < budget && (skb = skb_dequeue(&host->arrived))) {
		/* GRO changes the packet, and the sender's TCP may still hold its data. */
		if (skb_unclone(skb, GFP_ATOMIC))
			netif_receive_skb(skb);
		else
			napi_gro_receive(napi, skb);
		done++;
	}
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

/* Whether a packet of TCP has no payload, so that the kernel would not merge it. */
static bool is_empty(const struct sk_buff *skb)
{
	const struct iphdr *ip = (const struct iphdr *)skb->data;
	const struct tcphdr *tcp = (const struct tcphdr *)(skb->data + ip->ihl * 4);

	return skb->len == ip->ihl * 4 + tcp->doff * 4;
}

/*
 * Gives each packet to its host: to the stack by `receive`, or to the NAPI queue of a host with GRO, if the packet may be merged or
 * others are in that queue.
 */
static void deliver(struct sk_buff_head *arrived, int (*receive)(struct sk_buff *skb))
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(arrived))) {
		struct host *host = netdev_priv(skb->dev);

		skb->dev->stats.rx_packets++;
		skb->dev->stats.rx_bytes += skb->len;
		if (!(skb->dev->features & NETIF_F_GRO) || (is_empty(skb) && skb_queue_empty(&host->arrived))) {
			receive(skb);
			continue;
		}
		skb_queue_tail(&host->arrived, skb);
		napi_schedule(&host->napi);
	}
}

/*
 * Delivers the packets of this instant. Hosts answer each one before the next one leaves its element, as in the simulator: where
 * both enter the same element, the answer is first.
 */
static void release(struct tasklet_struct *unused)
{
	struct sk_buff_head arrived;

	__skb_queue_head_init(&arrived);
	do {
		spin_lock(&lock);
		is_releasing = tussle_path_release_one(path, run_ns());
		collect(&arrived);
		if (!is_releasing) {
			due_ns = TUSSLE_NEVER;
			await_departure();
		}
		spin_unlock(&lock);
		deliver(&arrived, netif_receive_skb);
	} while (is_releasing);
}

/*
 * Time until the next departure; 0 unless it comes before everything else for which the guest waits. Timers that count ticks do not
 * matter: the guest looks for those at each tick, and none of them expires between two.
 */
static u64 time_to_departure_ns(void)
{
	u64 now = ktime_get_ns();
	u64 at = zero_ns + due_ns;

	if (due_ns == TUSSLE_NEVER || at <= now || at >= tick_next_period)
		return 0;
	return at < hrtimer_next_event_without(&next_departure.timer) ? at - now : 0;
}

/*
 * Handles departures, to which `skip` moves the clock, until something else comes first or a process goes on; whether there was
 * any. The guest calls this before it sleeps, with interrupts disabled.
 */
bool tussle_work_while_idle(bool (*skip)(unsigned long long ns))
{
	u64 ns = path ? time_to_departure_ns() : 0;

	if (!ns || !skip(ns))
		return false;
	is_skipping = true;
	local_irq_enable();
	local_bh_disable();
	do {
		release(NULL);
		if (local_softirq_pending()) {
			local_bh_enable();
			local_bh_disable();
		}
		ns = need_resched() ? 0 : time_to_departure_ns();
	} while (ns && skip(ns));
	local_bh_enable();
	local_irq_disable();
	is_skipping = false;
	set_departure_timer();
	return true;
}

/* Sends the next packet of the queue discipline at once: netif_wake_queue() would let an ACK of this instant go first. */
static void run_queue(struct net_device *device)
{
	struct Qdisc *queue = rcu_dereference_bh(netdev_get_tx_queue(device, 0)->qdisc);

	netif_start_queue(device);
	if (queue->flags & TCQ_F_NOLOCK) {
		qdisc_run(queue);
	} else {
		spin_lock(qdisc_lock(queue));
		qdisc_run(queue);
		spin_unlock(qdisc_lock(queue));
	}
}

/* The next packet leaves, and TCP learns that the last one has left. */
static void end_transmission(struct tasklet_struct *work)
{
	struct host *host = container_of(work, struct host, end.work);
	struct sk_buff *transmitted = host->transmitting;

	host->transmitting = NULL;
	rcu_read_lock_bh();
	run_queue(host->device);
	rcu_read_unlock_bh();
	consume_skb(transmitted);
}

/* Begins to transmit a packet; returns a copy that belongs to no sender, or NULL without memory. */
static struct sk_buff *begin_transmission(struct host *host, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);
	u64 duration_ns;

	if (!copy) {
		kfree_skb(skb);
		return NULL;
	}
	duration_ns = div64_u64_rem(skb->len * NS_BITS + host->remainder, host->rate_bit_per_s, &host->remainder);
	host->transmitting = skb;
	netif_stop_queue(host->device);
	set(&host->end, ktime_get_ns() + duration_ns);
	return copy;
}

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *device)
{
	struct host *host = netdev_priv(device);
	struct sk_buff_head arrived;
	u64 now;

	if (!path || !pskb_may_pull(skb, min_t(unsigned int, skb->len, HEADER_BYTES))) {
		device->stats.tx_dropped++;
		kfree_skb(skb);
		return NETDEV_TX_OK;
	}
	device->stats.tx_packets++;
	device->stats.tx_bytes += skb->len;
	if (host->rate_bit_per_s) {
		skb = begin_transmission(host, skb);
		if (!skb)
			return NETDEV_TX_OK;
	}
	/* The packet leaves its host and no longer counts against its sender's limits, as in a pair of virtual Ethernet devices. */
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_reset_mac_header(skb);
	__skb_queue_head_init(&arrived);
	spin_lock_bh(&lock);
	now = run_ns();
	/* Departures precede what hosts send on their own at the same instant, as in the simulator. */
	if (!is_releasing)
		tussle_path_release(path, now);
	tussle_path_enter(path, skb, skb->data, skb_headlen(skb), skb->len, now);
	if (!is_releasing) {
		tussle_path_release(path, now);
		collect(&arrived);
		await_departure();
	}
	spin_unlock_bh(&lock);
	/* The receiver handles the packet after the sender's work is done. */
	deliver(&arrived, netif_rx);
	return NETDEV_TX_OK;
}

static int open_device(struct net_device *device)
{
	struct host *host = netdev_priv(device);

	napi_enable(&host->napi);
	return 0;
}

static int stop_device(struct net_device *device)
{
	struct host *host = netdev_priv(device);

	napi_disable(&host->napi);
	skb_queue_purge(&host->arrived);
	return 0;
}

static const struct net_device_ops device_operations = {
	.ndo_open = open_device,
	.ndo_stop = stop_device,
	.ndo_start_xmit = transmit,
};

static void set_up_device(struct net_device *device)
{
	device->netdev_ops = &device_operations;
	device->type = ARPHRD_NONE;
	device->flags = IFF_NOARP;
	device->priv_flags |= IFF_NO_QUEUE;
	device->needs_free_netdev = true;
	device->hard_header_len = 0;
	device->addr_len = 0;
	/* Only elements damage packets, and the receiver detects that without a checksum. */
	device->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	device->hw_features = device->features;
	device->max_mtu = 65535;
}

static int add_device(const struct tussle_device_request *request)
{
	struct net_device *device;
	struct host *host;
	int problem;

	if (request->exit >= MAX_HOSTS || devices[request->exit])
		return -EINVAL;
	device = alloc_netdev(sizeof(*host), "net", NET_NAME_USER, set_up_device);
	if (!device)
		return -ENOMEM;
	dev_net_set(device, current->nsproxy->net_ns);
	device->mtu = request->mtu_bytes;
	host = netdev_priv(device);
	host->device = device;
	host->rate_bit_per_s = request->rate_bit_per_s;
	set_up(&host->end, end_transmission);
	skb_queue_head_init(&host->arrived);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	netif_napi_add(device, &host->napi, poll);
#else
	netif_napi_add(device, &host->napi, poll, NAPI_POLL_WEIGHT);
#endif
	problem = register_netdev(device);
	if (problem) {
		free_netdev(device);
		return problem;
	}
	devices[request->exit] = device;
	return 0;
}

/* Reads the run. */
static ssize_t write_run(struct file *file, const char __user *bytes, size_t length, loff_t *offset)
{
	struct tussle_path *made;
	u8 *run;

	if (path)
		return -EBUSY;
	if (length > MAX_RUN_BYTES)
		return -EFBIG;
	run = vmalloc(length);
	if (!run)
		return -ENOMEM;
	if (copy_from_user(run, bytes, length)) {
		vfree(run);
		return -EFAULT;
	}
	made = tussle_path_new(run, length);
	vfree(run);
	if (!made)
		return -EINVAL;
	path = made;
	return length;
}

static long answer(unsigned int command, void __user *argument)
{
	u64 request[LARGEST_REQUEST / sizeof(u64)];
	bool is_known;

	if (!path || _IOC_SIZE(command) > sizeof(request))
		return -EINVAL;
	if (copy_from_user(request, argument, _IOC_SIZE(command)))
		return -EFAULT;
	spin_lock_bh(&lock);
	is_known = tussle_path_answer(path, _IOC_NR(command), request);
	spin_unlock_bh(&lock);
	if (!is_known)
		return -ENOTTY;
	return copy_to_user(argument, request, _IOC_SIZE(command)) ? -EFAULT : 0;
}

static long control(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *from = (void __user *)argument;
	struct tussle_device_request request;
	__u32 interface = TUSSLE_INTERFACE;

	switch (command) {
	case TUSSLE_GET_INTERFACE:
		return copy_to_user(from, &interface, sizeof(interface)) ? -EFAULT : 0;
	case TUSSLE_ADD_DEVICE:
		if (copy_from_user(&request, from, sizeof(request)))
			return -EFAULT;
		return add_device(&request);
	case TUSSLE_START:
		return copy_from_user(&zero_ns, from, sizeof(zero_ns)) ? -EFAULT : 0;
	default:
		return answer(command, from);
	}
}

static const struct file_operations file_operations = {
	.owner = THIS_MODULE,
	.write = write_run,
	.unlocked_ioctl = control,
};

static struct miscdevice control_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tussle",
	.fops = &file_operations,
};

static int __init start(void)
{
	devices = kvcalloc(MAX_HOSTS, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		return -ENOMEM;
	set_up(&next_departure, release);
	return misc_register(&control_device);
}
device_initcall(start);

MODULE_DESCRIPTION("Devices whose packets cross the elements of Tussle's simulator");
MODULE_LICENSE("Dual MIT/GPL");
