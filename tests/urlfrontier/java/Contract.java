// URLFrontier's contract by the client classes that its users have (Maven: urlfrontier-API), against host and port.
// A promise that is broken ends it with a message; the last line says how many were kept.

import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.*;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public class Contract {
    static ManagedChannel channel;
    static URLFrontierGrpc.URLFrontierBlockingStub frontier;
    static int kept = 0;

    static void promise(String what, Object wanted, Object found) {
        if (!wanted.equals(found)) {
            System.err.println(what + ": wanted " + wanted + ", found " + found);
            System.exit(1);
        }
        kept++;
    }

    static URLInfo info(String url, String key, String crawl) {
        return URLInfo.newBuilder().setUrl(url).setKey(key).setCrawlID(crawl).build();
    }

    static URLItem discovered(String url, String key, String crawl) {
        DiscoveredURLItem item = DiscoveredURLItem.newBuilder().setInfo(info(url, key, crawl)).build();
        return URLItem.newBuilder().setDiscovered(item).setID(url).build();
    }

    static URLItem known(String url, long date, String key, String crawl) {
        KnownURLItem.Builder item = KnownURLItem.newBuilder().setInfo(info(url, key, crawl));
        return URLItem.newBuilder().setKnown(item.setRefetchableFromDate(date)).setID(url).build();
    }

    /** All on one stream, as fast as they go; the statuses by ID, and how many acknowledgements there were. */
    static Map<String, AckMessage.Status> put(List<URLItem> items, int[] acks) throws Exception {
        Map<String, AckMessage.Status> found = new ConcurrentHashMap<>();
        CountDownLatch ended = new CountDownLatch(1);
        StreamObserver<URLItem> out = URLFrontierGrpc.newStub(channel).putURLs(new StreamObserver<AckMessage>() {
            public void onNext(AckMessage ack) {
                acks[0]++;
                found.put(ack.getID(), ack.getStatus());
            }

            public void onError(Throwable fault) {
                fault.printStackTrace();
                ended.countDown();
            }

            public void onCompleted() {
                ended.countDown();
            }
        });
        for (URLItem item : items) out.onNext(item);
        out.onCompleted();
        promise("the stream ends", true, ended.await(120, TimeUnit.SECONDS));
        return found;
    }

    static Map<String, AckMessage.Status> put(URLItem... items) throws Exception {
        int[] acks = {0};
        Map<String, AckMessage.Status> found = put(List.of(items), acks);
        promise("acknowledgements", items.length, acks[0]);
        return found;
    }

    static List<String> get(GetParams.Builder wanted) {
        List<String> urls = new ArrayList<>();
        Iterator<URLInfo> found = frontier.getURLs(wanted.build());
        while (found.hasNext()) urls.add(found.next().getUrl());
        return urls;
    }

    static GetParams.Builder of(String key, String crawl) {
        return GetParams.newBuilder().setKey(key).setCrawlID(crawl).setDelayRequestable(2);
    }

    static Stats stats(String key, String crawl) {
        return frontier.getStats(QueueWithinCrawlParams.newBuilder().setKey(key).setCrawlID(crawl).build());
    }

    static List<String> queues(String crawl) {
        return frontier.listQueues(Pagination.newBuilder().setCrawlID(crawl).build()).getValuesList();
    }

    static List<String> crawls() {
        return frontier.listCrawls(Local.newBuilder().setLocal(false).build()).getValuesList();
    }

    static void leases() throws Exception {
        String url = "http://key1.test/";
        put(discovered(url, "key1.test", ""), discovered(url, "key1.test", ""));
        promise("one queue", List.of("key1.test"), queues(""));
        promise("the only crawl", List.of("DEFAULT"), crawls());
        promise("handed out", List.of(url), get(of("key1.test", "DEFAULT").setMaxUrlsPerQueue(1)));
        promise("queues", 1L, stats("key1.test", "").getNumberOfQueues());
        promise("in process", 1, stats("key1.test", "").getInProcess());
        promise("nobody else gets it", List.of(), get(of("key1.test", "DEFAULT")));
        Thread.sleep(2300);
        promise("the lease is over", 0, stats("key1.test", "").getInProcess());
        promise("handed out again", List.of(url), get(of("key1.test", "DEFAULT")));
        put(known(url, 0, "key1.test", "DEFAULT"));
        promise("done", 1L, stats("", "").getCountsMap().get("completed"));
        promise("nothing is left", 0L, stats("", "").getSize());
        QueueWithinCrawlParams queue = QueueWithinCrawlParams.newBuilder().setKey("key1.test").build();
        promise("deleted", 1L, frontier.deleteQueue(queue).getValue());
        promise("no queue", List.of(), queues(""));
        promise("no crawl", List.of(), crawls());
    }

    static void order() throws Exception {
        put(known("http://o.test/b", 2000, "o", "order"), known("http://o.test/a", 1000, "o", "order"));
        put(known("http://o.test/never", 0, "o", "order"));
        put(discovered("http://gac.icann.org?language_id=9", "", "order"));
        promise("by date", List.of("http://o.test/a", "http://o.test/b"), get(of("o", "order")));
        promise("by host", List.of("o", "gac.icann.org"), queues("order"));
        promise("another crawl", List.of(), queues("other"));
        DeleteCrawlMessage crawl = DeleteCrawlMessage.newBuilder().setValue("order").build();
        promise("deleted", 4L, frontier.deleteCrawl(crawl).getValue());
        promise("nothing to list", List.of(), queues("order"));
    }

    static void said() throws Exception {
        put(discovered("http://s.test/1", "s", "said"), discovered("http://s.test/2", "s", "said"));
        frontier.blockQueueUntil(BlockQueueParams.newBuilder().setKey("s").setCrawlID("said").setTime(4000000000L).build());
        promise("blocked", List.of(), get(of("s", "said")));
        frontier.blockQueueUntil(BlockQueueParams.newBuilder().setKey("s").setCrawlID("said").build());
        frontier.setDelay(QueueDelayParams.newBuilder().setKey("s").setCrawlID("said").setDelayRequestable(0).build());
        promise("one", 1, get(of("s", "said").setMaxUrlsPerQueue(1)).size());
        promise("one is enough", 0, get(of("s", "said").setMaxUrlsPerQueue(1)).size());
        frontier.setActive(Active.newBuilder().setState(false).build());
        promise("inactive", false, frontier.getActive(Local.getDefaultInstance()).getState());
        promise("nothing", List.of(), get(of("s", "said")));
        frontier.setActive(Active.newBuilder().setState(true).build());
        promise("the other", 1, get(of("s", "said")).size());
        URLItem found = frontier.getURLStatus(URLStatusRequest.newBuilder().setUrl("http://s.test/1").setCrawlID("said").setKey("s").build());
        promise("found", "http://s.test/1", found.getKnown().getInfo().getUrl());
    }

    static void many() throws Exception {
        List<URLItem> items = new ArrayList<>();
        for (int n = 0; n < 20000; n++) items.add(discovered("http://m" + n % 100 + ".test/" + n % 11000, "", "many"));
        int[] acks = {0};
        put(items, acks);
        promise("each is acknowledged", 20000, acks[0]);
        long size = stats("", "many").getSize();
        promise("each is kept once", items.stream().map(URLItem::getID).distinct().count(), size);
        promise("a hundred queues", 100, get(GetParams.newBuilder().setCrawlID("many").setMaxUrlsPerQueue(1)).size());
    }

    public static void main(String[] where) throws Exception {
        channel = ManagedChannelBuilder.forAddress(where[0], Integer.parseInt(where[1])).usePlaintext().build();
        frontier = URLFrontierGrpc.newBlockingStub(channel);
        promise("it starts empty", List.of(), crawls());
        leases();
        order();
        said();
        many();
        channel.shutdownNow();
        System.out.println(kept + " promises kept");
    }
}
