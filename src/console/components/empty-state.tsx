import { Center, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Shown for an empty list: what will appear here, and how to create the first item. */
export function EmptyState({
  icon,
  title,
  children,
  action,
  order = 2,
}: {
  readonly icon: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** 1 where the page has no other heading. */
  readonly order?: 1 | 2;
}) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="sm" maw={420}>
        <ThemeIcon size={56} radius="xl" variant="light" color="gray">
          {icon}
        </ThemeIcon>
        <Title order={order} ta="center">
          {title}
        </Title>
        {children === undefined ? null : (
          <Text c="dimmed" size="sm" ta="center">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Center>
  );
}
