use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How a [`Proxy`] treats what passes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyFault {
    /// Nothing is wrong.
    None,
    /// New connections are closed at once; existing ones are cut.
    Refuse,
    /// Bytes towards the server are kept back; they arrive when the fault ends.
    StallRequests,
    /// Bytes towards the client are kept back; they arrive when the fault ends.
    StallReplies,
    /// Bytes towards the client are lost for good, and the connection is cut at the first of them.
    CutAtReply,
    /// Bytes towards the server are lost for good, and the connection is cut at the first of them.
    CutAtRequest,
    /// The connection is cut instead of sending the piece towards the server that would be this one by
    /// [`Proxy::requests`], counted from 1.
    CutAtRequestNumber(u64),
    /// The connection is cut instead of sending what the server says after that piece.
    CutAtReplyToNumber(u64),
    /// Every piece in both directions is this much late.
    Delay(Duration),
}

/// A TCP proxy on a loopback port that cuts, stalls, delays and refuses on request.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    orders: watch::Sender<ProxyOrder>,
    target: Arc<AtomicU16>,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    tasks: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Clone, Copy)]
struct ProxyOrder {
    fault: ProxyFault,
    /// Connections made before this number of cuts are gone.
    cuts: u64,
    /// Connections with a lower number have their requests kept back.
    stalled: u64,
}

impl Proxy {
    /// Listens on a free port and forwards to `target` on the loopback address.
    ///
    /// # Panics
    ///
    /// Panics where no port can be bound.
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port is free");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let (orders, watched) =
            watch::channel(ProxyOrder { fault: ProxyFault::None, cuts: 0, stalled: 0 });
        let requests = Arc::new(AtomicU64::new(0));
        let target = Arc::new(AtomicU16::new(target));
        let connections = Arc::new(AtomicU64::new(0));
        let counts = (Arc::clone(&connections), Arc::clone(&requests));
        let tasks = tokio::spawn(accept(listener, Arc::clone(&target), watched, counts));
        Self { port, orders, target, requests, connections, tasks }
    }

    /// Returns the port clients connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets what goes wrong from now on.
    pub fn set(&self, fault: ProxyFault) {
        self.orders.send_modify(|order| {
            order.fault = fault;
            order.cuts += u64::from(fault == ProxyFault::Refuse);
        });
    }

    /// Leads to another server from now on, as an address that was moved does: what there is now is cut.
    pub fn lead_to(&self, target: u16) {
        self.target.store(target, Ordering::SeqCst);
        self.cut();
    }

    /// Cuts every connection there is now; new ones are welcome.
    pub fn cut(&self) {
        self.orders.send_modify(|order| order.cuts += 1);
    }

    /// Keeps back what the connections there are now send; new ones are not touched.
    ///
    /// What is kept back arrives after [`Proxy::let_go`], even if its sender has closed the connection since.
    pub fn stall_existing(&self) {
        let next = self.connections.load(Ordering::SeqCst);
        self.orders.send_modify(|order| order.stalled = next);
    }

    /// Lets everything go that [`Proxy::stall_existing`] kept back.
    pub fn let_go(&self) {
        self.orders.send_modify(|order| order.stalled = 0);
    }

    /// Returns how many connections there have been.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns how many pieces have been sent towards the server so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.tasks.abort();
    }
}

async fn accept(
    listener: TcpListener,
    target: Arc<AtomicU16>,
    orders: watch::Receiver<ProxyOrder>,
    (numbers, requests): (Arc<AtomicU64>, Arc<AtomicU64>),
) {
    // Owned here, so that aborting this task ends every connection.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                let order = *orders.borrow();
                if order.fault == ProxyFault::Refuse {
                    continue;
                }
                let number = numbers.fetch_add(1, Ordering::SeqCst);
                let requests = Arc::clone(&requests);
                let target = SocketAddr::from(([127, 0, 0, 1], target.load(Ordering::SeqCst)));
                let orders = (orders.clone(), order.cuts);
                connections.spawn(connect(client, number, target, orders, requests));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(
    client: TcpStream,
    number: u64,
    target: SocketAddr,
    orders: (watch::Receiver<ProxyOrder>, u64),
    requests: Arc<AtomicU64>,
) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let (mut cut, cuts) = orders.clone();
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    tokio::select! {
        // Whichever ends first drops both halves, which closes both connections.
        () = pump(client_read, server_write, ProxyWay::Request(number), orders.clone(), &requests) => {}
        () = pump(server_read, client_write, ProxyWay::Reply, orders, &requests) => {}
        _ = cut.wait_for(|order| order.cuts > cuts) => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyWay {
    /// From the connection of this number.
    Request(u64),
    Reply,
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    way: ProxyWay,
    (mut orders, cuts): (watch::Receiver<ProxyOrder>, u64),
    requests: &AtomicU64,
) {
    let mut buffer = vec![0; 65_536];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
        let ProxyOrder { fault, cuts: now, .. } = *orders.borrow();
        // It may be noticed here first: what is sent after a cut does not arrive.
        if now > cuts {
            return;
        }
        match (fault, way) {
            (ProxyFault::CutAtReply, ProxyWay::Reply)
            | (ProxyFault::CutAtRequest, ProxyWay::Request(_)) => return,
            (ProxyFault::CutAtRequestNumber(number), ProxyWay::Request(_))
                if requests.load(Ordering::SeqCst) + 1 >= number =>
            {
                return;
            }
            (ProxyFault::CutAtReplyToNumber(number), ProxyWay::Reply)
                if requests.load(Ordering::SeqCst) >= number =>
            {
                return;
            }
            (ProxyFault::Delay(time), _) => tokio::time::sleep(time).await,
            (ProxyFault::StallRequests, ProxyWay::Request(_)) => {
                if orders.wait_for(|now| now.fault != ProxyFault::StallRequests).await.is_err() {
                    return;
                }
            }
            (ProxyFault::StallReplies, ProxyWay::Reply) => {
                if orders.wait_for(|now| now.fault != ProxyFault::StallReplies).await.is_err() {
                    return;
                }
            }
            (
                ProxyFault::None
                | ProxyFault::Refuse
                | ProxyFault::StallRequests
                | ProxyFault::StallReplies
                | ProxyFault::CutAtReply
                | ProxyFault::CutAtRequest
                | ProxyFault::CutAtRequestNumber(_)
                | ProxyFault::CutAtReplyToNumber(_),
                _,
            ) => {}
        }
        if let ProxyWay::Request(number) = way
            && orders.wait_for(|now| number >= now.stalled).await.is_err()
        {
            return;
        }
        if matches!(way, ProxyWay::Request(_)) {
            requests.fetch_add(1, Ordering::SeqCst);
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
