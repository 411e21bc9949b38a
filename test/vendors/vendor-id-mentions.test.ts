import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { VENDORS } from '../../src/contract/model-kinds.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { readSourceFiles } from '../architecture/source-files.ts';

/**
 * Where the name of a vendor or of one of its models may occur, and why. All other differences between vendors belong
 * in the adapter, so that a new vendor needs no changes elsewhere. A path that ends in `/` is a folder.
 */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/contract/model-kinds.ts': 'the list of vendors',
  'src/contract/video-formats.ts': 'two vendors have endpoints of their own format',
  'src/contract/endpoint.ts': 'prefixes of the endpoints in formats of vendors',
  'src/contract/video.ts': 'the object differs by vendor; OpenAI clients leave the model out',
  'src/contract/messages/': 'an error is worded after the vendor whose videos can be remixed',
  'src/server/vendors/registry.ts': 'the list of adapters, and models that no chat channel runs',
  'src/server/video/formats.ts': 'formats of vendors that the contract serves',
  'src/server/video/vendor-format-routes.ts': 'their endpoints',
  'src/server/api-reference/openapi.ts': 'error formats of vendors, a sample of the guide',
  'src/server/platform/http/error-responses.ts': 'error formats of vendors',
  'src/server/platform/http/server.ts': 'prefixes of the endpoints in formats of vendors',
  'src/server/channels/credentials.ts': 'endpoints by which a pasted address is recognised',
  'src/server/channels/channel-presets.ts': 'the list of providers',
  'src/sandbox/deviations.ts': 'a table of what each simulator may do differently',
  'importer/unimported.ts': 'paths of other gateways',
  'importer/mapping/': 'how other gateways number and price vendors',
  'src/server/vendors/model-lifecycles.ts': 'the one table of when models end, with a source for each',
  'src/sandbox/sandbox.ts': 'the list of simulators',
  'src/sandbox/media.ts': 'the look of each vendor',
  'src/server/api-reference/reference-page.ts': 'samples of the guide',
  'src/cli/': 'examples in help texts',
  'src/console/pages/studio/model-grid.tsx': 'the order of the model cards',
  'src/console/strings/en/videos.ts': 'descriptions of models',
  'src/console/strings/zh-cn/videos.ts': 'descriptions of models',
  'src/console/strings/en/admin-channels.ts': 'titles with words to translate',
  'src/console/strings/zh-cn/admin-channels.ts': 'titles with words to translate',
  'src/console/pages/account/connect-clients/connect-panel.tsx': 'an example for accounts without models',
  'scripts/readme-pictures.ts': 'compares four models',
  'scripts/quickstart.ts': 'examples it prints',
  'scripts/save-release-databases.ts': 'fills a database with one video',
  'scripts/try-container-image.ts': 'makes one video with the image that was built',
  'scripts/docs/models.ts': 'the page says which ids are not shipped',
  'bench/': 'loads are measured with one vendor each',
};

/** Folders and files that belong to a single vendor. */
const isVendorsOwn = (path: string): boolean =>
  /^src\/server\/vendors\/[a-z]+\//.test(path) || /^src\/sandbox\/vendors\//.test(path);
const isTest = (path: string): boolean => /^(importer\/)?test\//.test(path) || /\.(test|fixture)\.tsx?$/.test(path);

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const names = VENDORS.flatMap((name) => [name, name.replace(/^./, (letter) => letter.toUpperCase())]);
const models = VENDOR_ADAPTERS.flatMap((adapter) => adapter.models.map(({ id }) => id));
const PATTERN = new RegExp(`(?<![A-Za-z])(?:${names.join('|')})(?![a-z])|${models.map(escaped).join('|')}`);

const files = readSourceFiles(join(import.meta.dirname, '..', '..'), ['src', 'importer', 'scripts', 'bench']).filter(
  ({ path }) => !isTest(path) && !isVendorsOwn(path),
);
const placeOf = (path: string): string | undefined =>
  Object.keys(ALLOWED).find((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));

test('vendors and their models are named only where the list allows it', () => {
  const found = files
    .filter(({ path }) => placeOf(path) === undefined)
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const name = PATTERN.exec(line)?.[0];
        return name === undefined ? [] : [`${path}:${index + 1} ${name}`];
      }),
    );
  assert.deepEqual(found, [], 'what differs between vendors belongs into an adapter (src/server/vendors/adapter.ts)');
});

test('every path on the list still names a vendor', () => {
  const used = new Set(files.filter(({ text }) => PATTERN.test(text)).map(({ path }) => placeOf(path)));
  assert.deepEqual(
    Object.keys(ALLOWED).filter((place) => !used.has(place)),
    [],
    'take these off the list',
  );
});
