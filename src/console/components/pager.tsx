import { ActionIcon, Group, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface PagerProps {
  readonly page: number;
  readonly total: number;
  readonly pageSize: number;
  readonly onChange: (page: number) => void;
}

/** Steps through a list by pages; nothing where everything fits on one. */
export function Pager({ page, total, pageSize, onChange }: PagerProps) {
  const { t } = useTranslation();
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (pages === 1) return null;
  return (
    <Group justify="flex-end" gap="xs" mt="md">
      <Text size="sm" c="dimmed">
        {t('page', { page, pages })}
      </Text>
      <ActionIcon variant="default" aria-label={t('previous')} disabled={page <= 1} onClick={() => onChange(page - 1)}>
        <IconChevronLeft size={16} />
      </ActionIcon>
      <ActionIcon variant="default" aria-label={t('next')} disabled={page >= pages} onClick={() => onChange(page + 1)}>
        <IconChevronRight size={16} />
      </ActionIcon>
    </Group>
  );
}
