import { Group, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** Why the buttons one looks for are not there: what it says stands where they would. */
export function OutOfRank({ children }: { readonly children: ReactNode }) {
  return (
    <Group gap={8} wrap="nowrap" align="flex-start" c="dimmed">
      <IconLock size={16} style={{ flex: 'none', marginTop: 2 }} aria-hidden />
      <Text size="sm">{children}</Text>
    </Group>
  );
}
