package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The container goes from its first ranges to 16 and back to 2 while everything goes on. */
class RelocationTest {
    /** Between two steps of growth: time for every worker to meet the new ranges with the old ones in its cache. */
    private static final long REST_MS = 1000;

    private static void moveRanges(GrowthRanges ranges, GrowthWork work, List<Integer> steps) {
        GrowthWork.pause(REST_MS);
        while (!work.isOver && ranges.ids().size() != GrowthRanges.MAX) {
            ranges.grow();
            steps.add(ranges.ids().size());
            GrowthWork.pause(REST_MS);
        }
        work.isMerging = true;
        while (!work.isOver && ranges.ids().size() != GrowthRanges.MIN) {
            ranges.shrink();
            steps.add(ranges.ids().size());
            GrowthWork.pause(REST_MS);
        }
        work.isOver = true;
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "ORRERY_GROWTH", matches = "1", disabledReason = "takes half a minute")
    void nothingIsLostDoubledOrOutOfOrderWhileRangesSplitAndMerge() throws Exception {
        try (CosmosClient anotherClient = Server.client(Server.KEY)) {
            CosmosContainer container = Server.container();
            String database = Server.DATABASE.getId();
            CosmosContainer other = anotherClient.getDatabase(database).getContainer(container.getId());
            GrowthWork work = new GrowthWork(container, other);
            GrowthRanges ranges = new GrowthRanges(database, container.getId());
            work.fill();
            List<Integer> steps = new ArrayList<>();
            runAll(work, List.of(
                    () -> moveRanges(ranges, work, steps),
                    () -> work.write(0),
                    () -> work.write(1),
                    () -> work.write(2),
                    () -> work.write(3),
                    () -> work.read(true),
                    () -> work.read(false),
                    work::queryInOrder,
                    work::queryOneKey,
                    work::follow));
            work.check();
            System.out.println("ranges " + steps + ", writes " + work.written + ", reads " + work.reads
                    + ", pages " + work.pages + ", changes " + work.changes);
            Server.check(steps.contains(GrowthRanges.MAX), "the most ranges were " + steps);
            assertEquals(GrowthRanges.MIN, steps.get(steps.size() - 1));
            Server.check(work.written.get() > 100, work.written + " writes");
            Server.check(work.reads.get() > 0 && work.pages.get() > 0 && work.changes.get() > 0, "an idle worker");
        }
    }

    /** The first failure ends the others. */
    private static void runAll(GrowthWork work, List<Runnable> workers) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(workers.size());
        List<Future<?>> running = new ArrayList<>();
        for (Runnable worker : workers) {
            running.add(threads.submit(() -> {
                try {
                    worker.run();
                } catch (Throwable failure) {
                    work.isOver = true;
                    throw failure;
                }
            }));
        }
        threads.shutdown();
        for (Future<?> worker : running) {
            worker.get();
        }
    }
}
