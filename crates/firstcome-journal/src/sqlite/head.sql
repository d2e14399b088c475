SELECT space, shard, level, epoch, term FROM head
