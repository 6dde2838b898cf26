"""What a worker tells its supervisor when a fault of the world ends it: damage, a full disk, or something else."""

from __future__ import annotations

from gossamer.frontier.disk.faults import StoreDamaged, StoreFull, StoreInUse
from gossamer.interfaces import LinksLost
from gossamer.messages import worker_messages


def failure_message(
    faults: BaseExceptionGroup[BaseException],
) -> worker_messages.Damaged | worker_messages.NoRoom | worker_messages.Failure:
    fault: BaseException = faults
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    match fault:
        case StoreInUse():
            return worker_messages.Failure(str(fault))
        case StoreDamaged(folder=folder) if folder.parent.name == "partitions":
            return worker_messages.Damaged(int(folder.name), str(fault))
        case LinksLost(partition=partition):
            return worker_messages.Damaged(partition, str(fault))
        case StoreFull():
            return worker_messages.NoRoom(f"{fault.filename}: {fault.strerror}")
        case OSError():
            where = f"{fault.filename}: " if fault.filename else ""
            return worker_messages.Failure(
                f"{where}{fault.strerror or fault}. Nothing is lost: when that is mended, the same command resumes it"
            )
    return worker_messages.Failure(str(fault))
