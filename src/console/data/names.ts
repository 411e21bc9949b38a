import { useQuery } from '@tanstack/react-query';
import { adminListUsers } from '../../contract/account-admin.ts';
import { listChannels } from '../../contract/channels.ts';
import { mayManage, type Role } from '../../contract/roles.ts';
import { listQuery } from './admin.ts';
import { useSelf } from './queries.ts';

const STALE_MS = 60_000;
/** Ids one request may ask for. */
const MOST = 50;

/** Names beside ids; undefined while they are fetched and for whoever is gone. */
export type Names = (id: number) => string | undefined;

/** Users on the screen, asked for at once. */
function useUsers(ids: readonly number[] | undefined) {
  const wanted = [...new Set(ids)].sort((one, two) => one - two).slice(0, MOST);
  const { data } = useQuery({
    ...listQuery(adminListUsers, { ids: wanted.join(), page_size: String(MOST) }),
    enabled: wanted.length > 0,
    staleTime: STALE_MS,
  });
  return new Map(data?.data.map((user) => [user.id, user]));
}

export function useUserNames(ids: readonly number[] | undefined): Names {
  const users = useUsers(ids);
  return (id) => users.get(id)?.username;
}

/** Whether the administrator may change what has a role. The service decides; this only spares the way to a refusal. */
export function useMayManage(): (role: Role) => boolean {
  const role = useSelf().data?.role;
  return (other) => role === undefined || mayManage(role, other);
}

/** As {@link useMayManage}, by the ids of users on the screen; what belonged to one that is gone, everybody may change. */
export function useManaged(ids: readonly number[] | undefined): (id: number) => boolean {
  const users = useUsers(ids);
  const may = useMayManage();
  return (id) => {
    const user = users.get(id);
    return user === undefined || may(user.role);
  };
}

/** Names of the newest channels, which are nearly always all there are. */
export function useChannelNames(): Names {
  const { data } = useQuery({ ...listQuery(listChannels, { page_size: String(MOST) }), staleTime: STALE_MS });
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return (id) => names.get(id);
}
