// The page: it asks where things are, checks, and tells.

import { check, type Where } from "./checks.js";

const where = (await (await fetch("/where")).json()) as Where;
await fetch("/outcomes", { method: "POST", body: JSON.stringify(await check(where)) });
