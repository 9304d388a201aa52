// CUBIC flows over one bottleneck in ns-3, with SACK, timestamps and delayed ACKs.
//
//   ns3_cubic FLOWS RATE_BIT_PER_S ONE_WAY_DELAY_S BUFFER_PACKETS DURATION_S STAGGER_S
//
// Prints one line of JSON. Nothing is traced but the arrivals that are counted. Between the TCP stack and the
// device stands no queue discipline: the only queue is the device's, and it drops at its tail.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

namespace
{

constexpr std::uint32_t kSegmentBytes = 1448;     // 1500 with IP and TCP headers and timestamps
constexpr std::uint32_t kSocketBytes = 128 << 20; // never what limits a flow
constexpr std::uint16_t kPort = 5000;

struct Case
{
    std::uint32_t flows;
    std::uint64_t rateBitPerSecond;
    double oneWayDelaySeconds;
    std::uint32_t bufferPackets;
    double durationSeconds;
    double staggerSeconds;
};

std::uint64_t g_dataArrived = 0;
std::uint64_t g_retransmitted = 0;

void
CountArrival(ns3::Ptr<const ns3::Packet> packet)
{
    if (packet->GetSize() > kSegmentBytes)
    {
        ++g_dataArrived;
    }
}

// Called for every data segment that a socket sends; a segment that starts below the highest sequence number
// sent before is a retransmission.
void
CountTransmission(ns3::SequenceNumber32* next,
                  ns3::Ptr<const ns3::Packet> packet,
                  const ns3::TcpHeader& header,
                  ns3::Ptr<const ns3::TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    if (header.GetSequenceNumber() < *next)
    {
        ++g_retransmitted;
        return;
    }
    *next = header.GetSequenceNumber() + packet->GetSize();
}

void
WatchSocket(ns3::Ptr<ns3::BulkSendApplication> source, ns3::SequenceNumber32* next)
{
    source->GetSocket()->TraceConnectWithoutContext("Tx", ns3::MakeBoundCallback(&CountTransmission, next));
}

void
Configure()
{
    using namespace ns3;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(kSocketBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kSocketBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
}

void
Run(const Case& c)
{
    using namespace ns3;
    NodeContainer hosts(2);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(c.rateBitPerSecond)));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(c.oneWayDelaySeconds)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(PACKETS, c.bufferPackets)));
    NetDeviceContainer devices = link.Install(hosts);

    InternetStackHelper().Install(hosts);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    devices.Get(1)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountArrival));

    const Time end = Seconds(c.durationSeconds);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
    sink.Install(hosts.Get(1)).Stop(end);

    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), kPort));
    bulk.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
    std::vector<SequenceNumber32> next(c.flows);
    for (std::uint32_t flow = 0; flow < c.flows; ++flow)
    {
        const Time start = Seconds(flow * c.staggerSeconds);
        ApplicationContainer source = bulk.Install(hosts.Get(0));
        source.Start(start);
        // The socket exists once the application has started.
        Simulator::Schedule(start + NanoSeconds(1),
                            &WatchSocket,
                            DynamicCast<BulkSendApplication>(source.Get(0)),
                            &next[flow]);
    }
    Simulator::Stop(end);
    Simulator::Run();
    std::cout << "{\"delivered_packets\": " << g_dataArrived
              << ", \"retransmitted_packets\": " << g_retransmitted << "}" << std::endl;
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 7)
    {
        std::cerr << "usage: ns3_cubic FLOWS RATE_BIT_PER_S ONE_WAY_DELAY_S BUFFER_PACKETS DURATION_S STAGGER_S\n";
        return 2;
    }
    Configure();
    Case c;
    c.flows = static_cast<std::uint32_t>(std::stoul(argv[1]));
    c.rateBitPerSecond = std::stoull(argv[2]);
    c.oneWayDelaySeconds = std::stod(argv[3]);
    c.bufferPackets = static_cast<std::uint32_t>(std::stoul(argv[4]));
    c.durationSeconds = std::stod(argv[5]);
    c.staggerSeconds = std::stod(argv[6]);
    Run(c);
    return 0;
}
