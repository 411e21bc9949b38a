import { describeAccessibility } from './describe-accessibility.ts';

describeAccessibility({ language: 'en', scheme: 'light', width: 1280, height: 860 });
