import type { VendorId } from '../../contract/vendor-ids.ts';
import type { Channel } from '../channels/directory.ts';
import type { TaskUpstream, TaskUpstreams } from '../upstreams/upstream.ts';
import type { VendorAdapter } from '../vendors/adapter.ts';

/** Upstreams of video tasks: the vendors' adapters, called through channels. */
export type VideoUpstreams = TaskUpstreams<VendorId, VendorAdapter, Channel>;
/** The upstream of one video task. */
export type VideoUpstream = TaskUpstream<VendorAdapter, Channel>;
