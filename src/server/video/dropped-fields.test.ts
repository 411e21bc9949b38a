import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Type } from 'typebox';
import { videoRequest } from '../../../test/vendors/adapter-context.ts';
import { NO_IMAGES } from '../platform/json.ts';
import { toDroppedHeader, unknownPaths, unusedPaths, withUsedMetadata } from './dropped-fields.ts';
import { parseGenerationRequest } from './generation-request.ts';

const metadata = Type.Object({
  seed: Type.Optional(Type.Integer()),
  camera: Type.Optional(Type.Object({ type: Type.String(), config: Type.Object({ pan: Type.Number() }) })),
  masks: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Object({ mask: Type.String() }))])),
});
const droppedOf = (body: object, passthrough = false): readonly string[] =>
  unknownPaths(
    parseGenerationRequest({ model: 'm', prompt: 'a', ...body }, { files: [], bodyImages: NO_IMAGES }, undefined),
    Type.Object({ declared: Type.Optional(Type.Number()) }),
    { metadata, passthrough },
  );

it('lists every member that reaches no vendor, at every depth', () => {
  const given = {
    seed: 7,
    base_url: 'x',
    nothing: null,
    camera: { type: 'simple', host: 'x', config: { pan: 1, key: 'x' } },
    masks: [{ mask: 'm', key: 'x' }],
  };
  const known = { declared: 1, callback_url: 'https://a.example/', image_url: 'https://a.example/a.png', absent: null };
  assert.deepEqual(droppedOf({ ...known, duration: 5, fps: 24, metadata: given }), [
    'fps',
    ...['base_url', 'camera.host', 'camera.config.key', 'masks.0.key'].map((path) => `metadata.${path}`),
  ]);
  assert.deepEqual(droppedOf({ fps: 24, metadata: { seed: 7, masks: 'm' } }, true), []);
});

it('removes metadata that has no place in a request, at every depth, before anything is priced', () => {
  const camera = { type: 'simple', config: { pan: 1 } };
  const request = videoRequest({ model: 'm', metadata: { seed: 7, camera, masks: null, base_url: 'x' } });
  const adapter = { metadata, droppedMetadata: () => ['camera.type', 'camera.angle.x', 'masks', 'seed.of'] };
  assert.deepEqual(unusedPaths(request, adapter), ['metadata.camera.type']);
  assert.deepEqual(withUsedMetadata(request, adapter).metadata, { seed: 7, camera: { config: { pan: 1 } } });
  assert.deepEqual(request.metadata.camera, camera);
  const masks = [{ mask: 'a' }, { mask: 'b' }];
  const listed = withUsedMetadata(
    { ...request, metadata: { masks } },
    { metadata, droppedMetadata: () => ['masks.1.mask', 'masks.2.mask'] },
  );
  assert.deepEqual(listed.metadata, { masks: [{ mask: 'a' }, {}] });
  assert.deepEqual(unusedPaths(request, { droppedMetadata: (_, channel) => (channel ? ['seed'] : []) }), []);
});

it('encodes any member name a caller can choose in the header', () => {
  assert.deepEqual(toDroppedHeader([]), {});
  assert.deepEqual(toDroppedHeader(['a', 'metadata.b, c\r\nx: y', '\ud800é😀']), {
    'x-reelgate-dropped': 'a, metadata.b%2C%20c%0D%0Ax%3A%20y, %EF%BF%BD%C3%A9%F0%9F%98%80',
  });
  const many = toDroppedHeader(Array.from({ length: 1_000 }, (_, index) => `${index}`.repeat(50)));
  assert.ok((many['x-reelgate-dropped']?.length ?? 0) <= 2_000);
});
