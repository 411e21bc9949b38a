import { useQuery } from '@tanstack/react-query';
import { adminListUsers } from '../../contract/account-admin.ts';
import { listChannels } from '../../contract/channels.ts';
import { listQuery } from './admin.ts';

const STALE_MS = 60_000;
/** Ids one request may ask for. */
const MOST = 50;

/** Names beside ids; undefined while they are fetched and for whoever is gone. */
export type Names = (id: number) => string | undefined;

/** User names of those on the screen, asked for at once. */
export function useUserNames(ids: readonly number[] | undefined): Names {
  const wanted = [...new Set(ids)].sort((one, two) => one - two).slice(0, MOST);
  const { data } = useQuery({
    ...listQuery(adminListUsers, { ids: wanted.join(), page_size: String(MOST) }),
    enabled: wanted.length > 0,
    staleTime: STALE_MS,
  });
  const names = new Map(data?.data.map(({ id, username }) => [id, username]));
  return (id) => names.get(id);
}

/** Names of the newest channels, which are nearly always all there are. */
export function useChannelNames(): Names {
  const { data } = useQuery({ ...listQuery(listChannels, { page_size: String(MOST) }), staleTime: STALE_MS });
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return (id) => names.get(id);
}
