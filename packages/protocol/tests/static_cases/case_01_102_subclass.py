"""01.102: a record has no descendants"""

from kickwheel_protocol import UserMessage


class Sub(UserMessage):  # !
    pass
