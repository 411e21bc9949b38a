import { MultiSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { usableModelsQuery } from '../data/self.ts';
import { byLabelOrValue, toModelOptions } from './model-name.tsx';

interface ModelsSelectProps {
  readonly label: string;
  readonly description: string;
  readonly value: readonly string[];
  readonly onChange: (models: readonly string[]) => void;
}

/** Selects several models; a selected model that is no longer available stays selected until removed. */
export function ModelsSelect({ label, description, value, onChange }: ModelsSelectProps) {
  const { t } = useTranslation();
  const models = useQuery(usableModelsQuery);
  const offered = toModelOptions(models.data ?? []);
  return (
    <MultiSelect
      label={label}
      description={description}
      data={[...offered, ...value.filter((id) => !offered.some((each) => each.value === id))]}
      filter={byLabelOrValue}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('remove') }}
      value={[...value]}
      onChange={onChange}
    />
  );
}
