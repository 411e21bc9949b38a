import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webp': 'image/webp',
  '.png': 'image/png',
};
const gunzipAsync = promisify(gunzip);

interface Asset {
  readonly type: string;
  /** Undefined if only the compressed forms are kept. */
  readonly plain: Buffer | undefined;
  readonly br: Buffer | undefined;
  readonly gz: Buffer | undefined;
}

/** A file with its headers. */
export interface AssetResponse {
  readonly type: string;
  readonly coding: 'br' | 'gzip' | undefined;
  readonly body: Buffer;
}

/** Maximum attempts to read a console that another build replaces meanwhile. */
const MAX_TRIES = 3;

/**
 * The built console as of the start: a build that later replaces or empties its folder does not affect this process.
 * Files compressed by the build are kept only in compressed form, some 1.3 MB in total.
 */
export class ConsoleAssets {
  /** The page returned for every URL of the console. */
  readonly indexHtml: string;
  readonly #assets: ReadonlyMap<string, Asset>;

  constructor(indexHtml: string, assets: ReadonlyMap<string, Asset>) {
    this.indexHtml = indexHtml;
    this.#assets = assets;
  }

  /** @returns undefined if the console was not built */
  static load(folder: string): ConsoleAssets | undefined {
    for (let tries = 1; ; tries += 1) {
      try {
        const indexHtml = readFileSync(join(folder, 'index.html'), 'utf8');
        const assets = readAssets(join(folder, 'assets'));
        const isSame = readFileSync(join(folder, 'index.html'), 'utf8') === indexHtml;
        if (isSame && assets.size > 0) return new ConsoleAssets(indexHtml, assets);
        if (tries >= MAX_TRIES) return undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        if (tries >= MAX_TRIES) return undefined;
      }
    }
  }

  /**
   * @param accepted the request's Accept-Encoding
   * @returns undefined for a file the console does not have
   */
  async find(name: string, accepted: string): Promise<AssetResponse | undefined> {
    const asset = this.#assets.get(name);
    if (asset === undefined) return undefined;
    const { type, plain, br, gz } = asset;
    if (br !== undefined && accepts(accepted, 'br')) return { type, coding: 'br', body: br };
    if (gz !== undefined && accepts(accepted, 'gzip')) return { type, coding: 'gzip', body: gz };
    return { type, coding: undefined, body: plain ?? (await gunzipAsync(gz ?? Buffer.alloc(0))) };
  }
}

function readAssets(folder: string): Map<string, Asset> {
  const names = new Set(readdirSync(folder));
  const read = (name: string) => (names.has(name) ? readFileSync(join(folder, name)) : undefined);
  const assets = new Map<string, Asset>();
  for (const name of names) {
    if (/\.(br|gz)$/.test(name)) continue;
    const [br, gz] = [read(`${name}.br`), read(`${name}.gz`)];
    const type = TYPES[extname(name)] ?? 'application/octet-stream';
    assets.set(name, { type, br, gz, plain: gz === undefined ? read(name) : undefined });
  }
  return assets;
}

/** Whether the header names the coding with a weight other than zero (RFC 9110 section 12.5.3). */
function accepts(header: string, coding: string): boolean {
  return header.split(',').some((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
