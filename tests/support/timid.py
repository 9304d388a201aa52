"""A congestion control that never sends more than four packets a round trip."""

from tussle.algorithm import Algorithm


class Timid(Algorithm):
    def on_ack(self, ack, flow, control):  # noqa: ARG002 (the hook has these arguments)
        control.cwnd = min(control.cwnd, 4)
