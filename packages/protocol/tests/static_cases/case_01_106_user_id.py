"""01.106: an id is a string"""

from kickwheel_protocol import UserMessage


UserMessage(id=1, content="x")  # !
