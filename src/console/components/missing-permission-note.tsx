import { Group, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** Explains why buttons are missing for lack of permission; shown in the place of those buttons. */
export function MissingPermissionNote({ children }: { readonly children: ReactNode }) {
  return (
    <Group gap={8} wrap="nowrap" align="flex-start" c="dimmed">
      <IconLock size={16} style={{ flex: 'none', marginTop: 2 }} aria-hidden />
      <Text size="sm">{children}</Text>
    </Group>
  );
}
