import { isMediaName, loadMedia } from './media.ts';
import { defineSimulator, file, json, type Simulator } from './simulator.ts';

/** A content network as vendors use: public addresses, no credentials. Named per vendor so that faults can be aimed. */
export const artifactHost = (vendor: string): Simulator =>
  defineSimulator({
    name: vendor,
    credentials: () => ({}),
    authorize: () => undefined,
    problem: (problem) => json(problem === 'not_found' ? 404 : 503, { error: problem }),
    routes: [
      {
        method: 'GET',
        path: /^\/[^/]+\/[^/]+\/(?<name>[^/]+)$/,
        operation: 'content',
        handle({ params: { name = '' } }) {
          return isMediaName(name) ? file(loadMedia(name)) : json(404, { error: 'not_found' });
        },
      },
    ],
  });
