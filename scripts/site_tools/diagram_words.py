"""Names and Vietnamese labels of the diagrams. A label that is missing here fails the generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, str]] = {
    "00": ("The eight events of the complete trace", "Tám sự kiện của dấu vết hoàn chỉnh"),
    "01": ("The unions of the protocol and their members", "Các union của protocol và thành viên của chúng"),
    "02": ("The states of an event stream", "Các trạng thái của luồng sự kiện"),
    "03": ("A transcript and its links", "Một transcript và các liên kết của nó"),
    "04": ("Two calls on a script of one response", "Hai lượt gọi trên kịch bản có một phản hồi"),
    "05": ("The states of the response parser", "Các trạng thái của parser phản hồi"),
    "06": ("The steps of one tool call", "Các bước của một lời gọi tool"),
    "07": ("The phases of a run", "Các giai đoạn của một lượt chạy"),
}

VIETNAMESE: Mapping[str, str] = {
    # 00, 03, 04, 06: drawn from runs
    "user": "người dùng",
    "model": "model",
    "tool": "tool",
    "run": "lượt chạy",
    "calls": "gọi",
    "answers": "trả lời",
    "caller": "bên gọi",
    "queue": "hàng đợi",
    "attempted calls": "số lượt đã gọi",
    "take one": "lấy một",
    "left": "còn lại",
    "find the tool": "tìm tool",
    "check the arguments": "kiểm tra argument",
    "run it": "chạy tool",
    "write it": "viết kết quả",
    "one linked result": "đúng một result được liên kết",
    # 01
    "told apart by": "phân biệt bằng",
    # 02
    "finish": "finish",
    "fail": "fail",
    "stream aclose, no hook": "aclose, không có hook",
    "stream aclose, hook settles": "aclose, hook tự kết thúc",
    "push, send, finish, fail raise StreamClosedError": "push, send, finish, fail ném StreamClosedError",
    # 05
    "not an object, uninspectable, bad type": "không phải object, không xem được, type sai",
    "start, good": "start đúng",
    "start, bad": "start sai",
    "text, good": "text đúng",
    "text, bad": "text sai",
    "tool call, good, new id": "tool call đúng, ID mới",
    "tool call, id seen": "tool call, ID đã gặp",
    "tool call, bad": "tool call sai",
    "end, good, stop": "end đúng, stop",
    "end, good, tool_call": "end đúng, tool_call",
    "end, id not a non-blank string": "end, ID trống hoặc không phải chuỗi",
    "end, other id": "end, ID khác",
    "end, bad stop reason or usage": "end, lý do dừng hoặc usage sai",
    "transport error, good": "lỗi vận chuyển đúng dạng",
    "transport error, bad": "lỗi vận chuyển sai dạng",
    "unknown type": "type lạ",
    "end of source": "hết nguồn",
    "source step fails (adapter only)": "nguồn bị hỏng (chỉ adapter)",
    "signal aborted (adapter only)": "có tín hiệu hủy (chỉ adapter)",
    "record": "record",
    "chunk": "chunk",
    "success": "thành công",
    "abort reason": "lý do hủy",
    "before the start": "trước điểm bắt đầu",
    "open, no call": "đang mở, chưa có lời gọi",
    "open, at least one call": "đang mở, đã có lời gọi",
    "refused, codes": "từ chối, số mã",
    "terminal stored": "đã giữ điểm kết thúc",
    # 07
    "valid transcript, not aborted": "transcript hợp lệ, chưa bị hủy",
    "toolCall": "toolCall",
    "stop": "stop",
    "all calls answered": "mọi lời gọi đã có result",
    "last step used up": "đã dùng hết bước cuối",
    "failure or abort": "lỗi hoặc bị hủy",
}
