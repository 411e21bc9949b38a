import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { SimulatorRequest } from './simulator.ts';

/** Beginnings of images as Base64: PNG and JPEG. */
const BASE64_IMAGE = /^(?:iVBORw0KGgo|\/9j\/)/;
/** The service itself; a sandbox sends nothing to other hosts. */
const OWN_ADDRESS = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/;

/** The first image of a request for a video, in whatever form the vendor takes it; undefined without one. */
export async function findSentImage(request: Pick<SimulatorRequest, 'json' | 'form'>): Promise<Buffer | undefined> {
  const body = request.json();
  if (body !== undefined) {
    const text = findText(body);
    if (text === undefined) return undefined;
    return OWN_ADDRESS.test(text) ? download(text) : Buffer.from(text.replace(/^data:[^,]*,/, ''), 'base64');
  }
  const form = await request.form().catch(() => undefined);
  for (const value of form?.values() ?? [])
    if (typeof value !== 'string') return Buffer.from(await value.arrayBuffer());
  return undefined;
}

/** The first text in a JSON value that is an image, or the address of a file of the service. */
function findText(value: unknown): string | undefined {
  if (typeof value === 'string') {
    const data = value.startsWith('data:image/') ? value.slice(value.indexOf(',') + 1) : value;
    return BASE64_IMAGE.test(data) || OWN_ADDRESS.test(value) ? value : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const each of Object.values(value)) {
    const found = findText(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function download(url: string): Promise<Buffer | undefined> {
  try {
    const [response] = (await once(get(url), 'response')) as [IncomingMessage];
    return response.statusCode === 200 ? await buffer(response) : undefined;
  } catch {
    return undefined;
  }
}
