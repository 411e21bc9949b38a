import { type App, GRACE_MS, makeApp } from './app.ts';
import { compactMemory } from './platform/collect-garbage.ts';
import { loadConfig } from './platform/config.ts';
import { PortLifecycle } from './platform/http/port-lifecycle.ts';
import { describeStartFailure } from './platform/start-failure.ts';

/** Whatever does not end by itself after the grace period is ended with the process; the next start goes on with it. */
const FORCED_EXIT_MS = 5_000;

/** Starts the server as the environment configures it, and shuts it down gracefully on SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const { config, hints } = loadConfig();
  for (const hint of hints) process.stderr.write(`${hint}\n`);
  // Open before the schema is brought up to date, so that health checks are answered meanwhile.
  const port = new PortLifecycle();
  await port.listen(config.host, config.port);
  // The first process of a container ignores signals it does not handle. Nothing is under way that could be lost.
  for (const signal of STOP_SIGNALS) process.on(signal, exitAtOnce);
  const app = await makeApp(config, { port });
  await app.listen();
  setTimeout(compactMemory, 1_000).unref();
  for (const signal of STOP_SIGNALS) process.off(signal, exitAtOnce);
  stopOnSignals(app, config.drainSeconds * 1_000);
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const exitAtOnce = (): void => process.exit(1);

/** SIGTERM drains first; SIGINT, a person at the keyboard, does not wait. A second signal exits immediately. */
function stopOnSignals(app: App, drainMs: number): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) exitAtOnce();
    stopping = true;
    const waitMs = signal === 'SIGTERM' ? drainMs : 0;
    app.log.info({ signal, drainMs: waitMs }, 'stopping');
    setTimeout(
      () => {
        app.log.fatal('did not stop in time; what was under way is found again at the next start');
        process.exit(1);
      },
      waitMs + GRACE_MS + FORCED_EXIT_MS,
    );
    app.close(GRACE_MS, waitMs).then(
      () => process.exit(0),
      (error: unknown) => {
        app.log.fatal({ err: error }, 'could not stop in order');
        process.exit(1);
      },
    );
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`reelgate cannot start: ${describeStartFailure(error)}\n`);
  process.exit(1);
});
