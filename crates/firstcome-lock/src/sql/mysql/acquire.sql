-- Takes a lock that is free, or once more for its owner; the fence is minted in the same step.
--
-- The assignments are made in this order, and each sees those before it. The first one decides, by the clock after the row
-- was had: the request's number is left where it is taken anew, the next one where it is taken once more.
INSERT INTO firstcome_locks (name, owner, holds, fence, expires_at, acquired_at, request)
SELECT {name}, {owner}, 1, c.now, c.now + {lease}, c.now, {request}
FROM (SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now) AS c
WHERE c.now <= {not_after}
ON DUPLICATE KEY UPDATE
    firstcome_locks.request = IF(CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) > {not_after}, request,
        IF(holds = 0 OR expires_at <= CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED), {request},
            IF(owner = {owner}, {request} + 1, request))),
    owner = IF(request = {request}, {owner}, owner),
    holds = IF(request = {request}, 1, IF(request = {request} + 1, holds + 1, holds)),
    fence = IF(request = {request}, GREATEST(fence + 1, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)), fence),
    acquired_at = IF(request = {request}, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED), acquired_at),
    metadata = IF(request = {request}, NULL, metadata),
    expires_at = IF(request IN ({request}, {request} + 1),
        CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease}, expires_at);
