import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["build", "dist", "src/gen", "tools/consumer"]),
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  { files: ["**/*.js"], extends: [tseslint.configs.disableTypeChecked] },
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.js", "tools/*.js"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "suite"] }] },
      ],
    },
  },
);
