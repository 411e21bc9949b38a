import { isMediaName, loadMedia } from './media.ts';
import { defineSimulator, fileResponse, jsonResponse, type Simulator } from './simulator.ts';

/** A content network as vendors use: public URLs, no credentials. Named per vendor so that faults can target it. */
export const artifactHost = (vendor: string): Simulator =>
  defineSimulator({
    name: vendor,
    credentials: () => ({}),
    authorize: () => undefined,
    problem: (problem) => jsonResponse(problem === 'not_found' ? 404 : 503, { error: problem }),
    routes: [
      {
        method: 'GET',
        path: /^\/[^/]+\/[^/]+\/(?<name>[^/]+)$/,
        operation: 'content',
        handle({ params: { name = '' } }) {
          return isMediaName(name) ? fileResponse(loadMedia(name)) : jsonResponse(404, { error: 'not_found' });
        },
      },
    ],
  });
