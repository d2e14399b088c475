SELECT space, level, epoch, term FROM head
