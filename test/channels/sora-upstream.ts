import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An upstream in OpenAI's video format that counts the unfinished videos of each of its accounts, by their keys. */
export interface SoraUpstream {
  readonly url: string;
  /** Videos an account has begun. */
  begun(key: string): number;
  /** Most unfinished videos of an account at once. */
  mostUnfinished(key: string): number;
  /** From now on a video ends with its first query, or, with false, none does. */
  finishes: boolean;
  /** Called with the prompt's request before it is answered; what it returns is the status of a refusal. */
  beforeSubmit: (body: string) => Promise<number | undefined>;
  stop(): Promise<void>;
}

interface Account {
  begun: number;
  most: number;
  readonly unfinished: Set<string>;
}

export async function startSoraUpstream(): Promise<SoraUpstream> {
  const accounts = new Map<string, Account>();
  const accountOf = (key: string): Account => {
    const known = accounts.get(key) ?? { begun: 0, most: 0, unfinished: new Set<string>() };
    accounts.set(key, known);
    return known;
  };
  const submit = async (key: string, request: IncomingMessage): Promise<{ status: number; body: object }> => {
    const status = await upstream.beforeSubmit(await readText(request));
    if (status !== undefined) return { status, body: { error: { message: 'refused', type: 'server_error' } } };
    const account = accountOf(key);
    const id = `video_${key}_${account.begun++}`;
    account.unfinished.add(id);
    account.most = Math.max(account.most, account.unfinished.size);
    return { status: 200, body: toVideo(id, 'queued') };
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const key = String(request.headers.authorization).replace('Bearer ', '');
    const id = request.url?.split('/').at(-1) ?? '';
    if (request.method === 'GET' && upstream.finishes) accountOf(key).unfinished.delete(id);
    const isUnfinished = accountOf(key).unfinished.has(id);
    const { status, body } =
      request.method === 'POST'
        ? await submit(key, request)
        : { status: 200, body: toVideo(id, isUnfinished ? 'in_progress' : 'completed') };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upstream: SoraUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begun: (key) => accountOf(key).begun,
    mostUnfinished: (key) => accountOf(key).most,
    finishes: false,
    beforeSubmit: async () => undefined,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return upstream;
}

const toVideo = (id: string, status: 'queued' | 'in_progress' | 'completed') => ({
  id,
  object: 'video',
  model: 'sora-2',
  status,
  progress: status === 'completed' ? 100 : 5,
  created_at: 1_795_140_000,
  seconds: '4',
  size: '720x1280',
});

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
