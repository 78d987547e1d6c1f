"""Options at their least and greatest: the plan has them, and nothing else happens."""

from chaos.disturbance import Disturbance

TABLE = [Disturbance("extreme-options", None)]
