# CUBIC flows over one bottleneck in ns-2, with its TCP/Linux agent, SACK and delayed ACKs.
#
#   ns ns2_cubic.tcl FLOWS RATE_BIT_PER_S ONE_WAY_DELAY_S BUFFER_PACKETS DURATION_S STAGGER_S
#
# Prints one line of JSON. Nothing is traced, and packets carry only the headers that are used: ns-2 at its best.

if {$argc != 6} {
    puts stderr "usage: ns ns2_cubic.tcl FLOWS RATE_BIT_PER_S ONE_WAY_DELAY_S BUFFER_PACKETS DURATION_S STAGGER_S"
    exit 2
}
lassign $argv flows rate delay buffer duration stagger

remove-all-packet-headers
add-packet-header IP TCP Flags

# 1500 bytes at the bottleneck: ns-2 adds 40 bytes of headers to packetSize_.
Agent/TCP/Linux set packetSize_ 1460
Agent/TCP/Linux set window_ 1000000
Agent/TCP/Linux set windowInit_ 10
Agent/TCP/Linux set timestamps_ true
Agent/TCPSink set ts_echo_rfc1323_ true

set ns [new Simulator]
set sender [$ns node]
set receiver [$ns node]
$ns duplex-link $sender $receiver $rate $delay DropTail
$ns queue-limit $sender $receiver $buffer
$ns queue-limit $receiver $sender 1000000

set agents {}
for {set flow 0} {$flow < $flows} {incr flow} {
    set agent [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $sender $agent
    $ns attach-agent $receiver $sink
    $ns connect $agent $sink
    set source [new Application/FTP]
    $source attach-agent $agent
    $ns at 0 "$agent select_ca cubic"
    $ns at [expr {$flow * $stagger}] "$source start"
    lappend agents $agent
}

proc finish {} {
    global agents
    set delivered 0
    set retransmitted 0
    foreach agent $agents {
        # Packets are numbered from zero, and ack_ is the last one acknowledged.
        set delivered [expr {$delivered + [$agent set ack_] + 1}]
        set retransmitted [expr {$retransmitted + [$agent set nrexmitpack_]}]
    }
    puts "{\"version\": \"[ns-version]\", \"delivered_packets\": $delivered,\
        \"retransmitted_packets\": $retransmitted}"
    exit 0
}
$ns at $duration finish
$ns run
