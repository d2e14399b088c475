SELECT through, term FROM settled WHERE shard = $1 FOR UPDATE
