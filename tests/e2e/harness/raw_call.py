"""Calls of gRPC that sbumpctl does not make, by curl: messages in protobuf's encoding."""
import os
import subprocess
import tempfile


def varint(value):
    head, rest = value & 0x7f, value >> 7
    return bytes([head | 0x80]) + varint(rest) if rest else bytes([head])


def number(tag, value):
    return varint(tag << 3) + varint(value)


def field(tag, content):
    """Text, or a message."""
    return varint(tag << 3 | 2) + varint(len(content)) + content


def start(case, prefix, method, *messages):
    """The call, which ends with its stream, and what gives all that came so far: headers, replies and trailers."""
    reply = tempfile.TemporaryFile(dir=case.scratch)
    call = subprocess.Popen([*prefix, "/usr/bin/curl", "-sSNi", "--http2-prior-knowledge", "--unix-socket", case.daemon.socket,
                             "-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@-",
                             "http://sbumpd/sbump.v1." + method], stdin=subprocess.PIPE, stdout=reply)
    case.addCleanup(call.wait)
    case.addCleanup(call.kill)
    call.stdin.write(b"".join(b"\0" + len(message).to_bytes(4, "big") + message for message in messages))
    call.stdin.close()
    return call, lambda: os.pread(reply.fileno(), 1 << 20, 0)
