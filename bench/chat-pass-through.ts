import { cpuSeconds } from './support/process-usage.ts';
import { median, quantile } from './support/quantile.ts';
import { postBytes, rawLoad } from './support/raw-socket-load.ts';
import { BOTH_DIALECTS, QUESTION, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * CPU time of calls whose upstream speaks the caller's dialect, so that bytes are forwarded unchanged: Anthropic's
 * Messages and chat completions in alternating rounds, and the median difference of each pair of rounds.
 *
 * Run `node bench/chat-pass-through.ts`; needs nginx. `SECONDS` and `ROUNDS` change the length.
 */
const SECONDS = Number(process.env.SECONDS ?? '2');
const ROUNDS = Number(process.env.ROUNDS ?? '30');
const CONNECTIONS = 64;
const PORT = 4_393;

const upstream = await startNginx(BOTH_DIALECTS);
const { service, key } = await startChatService(PORT, upstream.origin);
const headers = { authorization: `Bearer ${key}` };
const bodyFor = (model: string): string => JSON.stringify({ model, max_tokens: 500, messages: QUESTION });
const chat = postBytes('/v1/chat/completions', headers, bodyFor('bench-chat'));
const messages = postBytes('/v1/messages', headers, bodyFor('bench-claude'));

/** Microseconds of CPU time per call. */
async function measure(request: Buffer): Promise<number> {
  const before = cpuSeconds(service.pid);
  const load = await rawLoad({ port: PORT, connections: CONNECTIONS, seconds: SECONDS, request });
  if (load.failures > 0) throw new Error(load.firstFailure);
  return ((cpuSeconds(service.pid) - before) / load.requests) * 1e6;
}

try {
  for (const request of [chat, messages]) await warmUp(() => measure(request));
  const pairs: (readonly [number, number])[] = [];
  for (let round = 0; round < ROUNDS; round++) pairs.push([await measure(chat), await measure(messages)]);
  const differences = pairs.map(([one, other]) => other - one);
  console.log(
    `chat ${median(pairs.map(([one]) => one)).toFixed(1)} µs, Messages ${median(pairs.map(([, other]) => other)).toFixed(1)} µs`,
  );
  console.log(
    `Messages above chat: median ${median(differences).toFixed(1)} µs, quartiles ${quantile(differences, 0.25).toFixed(1)} and ${quantile(differences, 0.75).toFixed(1)}`,
  );
} finally {
  await service.stop();
  await upstream.stop();
}
