"""01.22: a discriminant is no argument"""

from kickwheel_protocol import UserMessage


UserMessage(id="m", content="x", role="system")  # !
