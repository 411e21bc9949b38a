import { Group, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { canManage, type Role } from '../../contract/account-fields.ts';
import { useUsersById } from '../data/names.ts';
import { useSelf } from '../data/self.ts';

/** Explains why buttons are missing for lack of permission; shown in the place of those buttons. */
export function MissingPermissionNote({ children }: { readonly children: ReactNode }) {
  return (
    <Group gap={8} wrap="nowrap" align="flex-start" c="dimmed">
      <IconLock size={16} style={{ flex: 'none', marginTop: 2 }} aria-hidden />
      <Text size="sm">{children}</Text>
    </Group>
  );
}

/** Whether the administrator may change what has a role. The service decides; this only avoids offering what would be refused. */
export function useCanManageRole(): (role: Role) => boolean {
  const role = useSelf().data?.role;
  return (other) => role === undefined || canManage(role, other);
}

/** As {@link useCanManageRole}, by the ids of users on the screen; what belonged to one that is gone, everybody may change. */
export function useCanManageUser(ids: readonly number[] | undefined): (id: number) => boolean {
  const users = useUsersById(ids);
  const canManage = useCanManageRole();
  return (id) => {
    const user = users.get(id);
    return user === undefined || canManage(user.role);
  };
}
